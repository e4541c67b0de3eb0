# What the benchmarks call, as bench.proto has it.

@0xde23a4de0482d849;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("verbena::benchmarks::capnp_bench");

interface Bench {
  echo @0 (payload :Data) -> (payload :Data);
}
