#include "tests/support/builders.h"

#include "absl/strings/str_cat.h"
#include "core/base/units.h"

namespace planwright {

OperatorId AddOperator(OperatorGraph& graph, const std::string& name, int64_t accelerator_ps, int64_t cpu_ps) {
  Operator op;
  op.name = name;
  op.costs = {{.device_class = kAcceleratorClass, .forward = Picoseconds(accelerator_ps)},
              {.device_class = kCpuClass, .forward = Picoseconds(cpu_ps)}};
  graph.operators.push_back(op);
  return OperatorId(graph.operators.size() - 1);
}

OperatorId AddBackward(OperatorGraph& graph, const std::string& name, OperatorId forward, int64_t accelerator_ps,
                       int64_t cpu_ps) {
  const OperatorId op = AddOperator(graph, name, accelerator_ps, cpu_ps);
  graph.operators[op.index()].pass = Pass::kBackward;
  graph.operators[op.index()].forward_operator = forward;
  return op;
}

TensorId AddTensor(OperatorGraph& graph, OperatorId producer, const std::vector<OperatorId>& consumers,
                   int64_t transfer_ps, int64_t size_bytes) {
  Tensor tensor;
  tensor.name = absl::StrCat("t", graph.tensors.size());
  tensor.producer = producer;
  tensor.consumers = consumers;
  tensor.size_bytes = size_bytes;
  tensor.transfer = Picoseconds(transfer_ps);
  graph.tensors.push_back(tensor);
  return TensorId(graph.tensors.size() - 1);
}

Cluster MakeCluster(int accelerators, int cpus, std::optional<int64_t> accelerator_memory_bytes) {
  Cluster cluster;
  cluster.device_classes.resize(2);
  cluster.device_classes[0].name = kAcceleratorClass;
  cluster.device_classes[0].memory_bytes = accelerator_memory_bytes;
  cluster.device_classes[1].name = kCpuClass;
  cluster.device_classes[1].kind = DeviceKind::kCpu;
  const auto add_device = [&cluster](const std::string& name, DeviceClassId device_class) {
    Device device;
    device.name = name;
    device.device_class = device_class;
    cluster.devices.push_back(device);
  };
  for (int i = 0; i < accelerators; ++i) add_device(absl::StrCat("acc", i), DeviceClassId(0));
  for (int i = 0; i < cpus; ++i) add_device(absl::StrCat("cpu", i), DeviceClassId(1));
  return cluster;
}

}  // namespace planwright
