# Every library from outside, from Debian 12.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED) # Debian ships no CONFIG file for it
find_package(absl CONFIG REQUIRED)
find_package(gRPC 1.51 CONFIG REQUIRED)
find_package(TBB 2021.8 CONFIG REQUIRED COMPONENTS tbb)
find_package(prometheus-cpp CONFIG REQUIRED) # its CONFIG file has no version
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(yaml-cpp 0.7 CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
if(PLANWRIGHT_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)
endif()
