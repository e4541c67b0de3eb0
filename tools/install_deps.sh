#!/usr/bin/env bash
# Installs every Debian package that building and testing Verbena needs. Safe to run again; needs root only when something is missing.
set -euo pipefail

packages=(
  # build
  bazel-bootstrap bazel-rules-java bazel-rules-proto bazel-skylib bazel-platforms g++ git pkg-config python3
  # libraries
  libibverbs-dev librdmacm-dev libprotobuf-dev libprotoc-dev protobuf-compiler libabsl-dev libisal-dev libssl-dev
  libc-ares-dev libcurl4-openssl-dev nlohmann-json3-dev
  # what others have, which ours is measured beside, and charts (benchmarks/peers)
  protobuf-compiler-grpc libgrpc++-dev capnproto libcapnp-dev ucx-utils libfabric-bin python3-matplotlib linux-perf
  # tests: GoogleTest, libFuzzer with clang, network tools, an etcd to look names up in, programs for RDMA devices
  libgtest-dev libgmock-dev clang-14 libclang-rt-14-dev clang-format-14 iproute2 procps
  etcd-server valgrind
  ibverbs-utils rdmacm-utils perftest qperf python3-pyverbs
  # guests with RDMA in their kernel (tests/soft_roce): what building kernel modules takes, drivers of rdma-core
  make flex bison bc libelf-dev xz-utils kmod ibverbs-providers
  qemu-system-x86 busybox-static cpio
)

if (($# > 0)); then
  echo "install_deps.sh: takes no arguments" >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi
if ((EUID != 0)); then
  echo "install_deps.sh: missing Debian packages: ${missing[*]}" >&2
  echo "install_deps.sh: run it as root, or: apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "install_deps.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
