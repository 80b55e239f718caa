// How jemalloc keeps the memory of planwrightd (docs/adr/0009-the-server-allocates-with-jemalloc.md).

// jemalloc reads its settings here, before main. Threads of its own give freed pages back to the system within a
// second, also those of threads that have nothing to do any more.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
