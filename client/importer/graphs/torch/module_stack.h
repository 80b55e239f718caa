// Which layer of a model an operator of torch.export belongs to.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_MODULE_STACK_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_MODULE_STACK_H_

#include <string>
#include <string_view>

namespace planwright::client {

// `stack` is an "nn_module_stack": "key,path,class" from the outermost module to the innermost one, between semicolons.
// Returns the path up to its first number: "model.layers.3" of "model.layers.3.attn"; without one that of the innermost
// module: "model.embed_tokens". Empty: no module has a name.
std::string LayerOfModuleStack(std::string_view stack);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_MODULE_STACK_H_
