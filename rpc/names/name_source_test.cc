#include "rpc/names/name_source.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rpc/names/testing/temporary_folder.h"
#include "rpc/names/testing/watched_lists.h"
#include "transport/log.h"

namespace verbena::rpc {
namespace {

std::string ErrorOf(absl::string_view uri, const NameSourceOptions& options = {}) {
  return std::string(NameSource::Create(uri, TellTo(Told()), options).status().message());
}

TEST(NameSource, ListIsToldOnceFromAThreadOfItsOwn) {
  std::promise<std::thread::id> teller;
  Told told;
  auto source = NameSource::Create("a:1,b:2", [&, told](absl::StatusOr<std::vector<ServerAddress>> list) mutable {
    told.Add(InWords(list));
    teller.set_value(std::this_thread::get_id());
  });
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(told.Next(), "a:1 b:2");
  EXPECT_NE(teller.get_future().get(), std::this_thread::get_id());
}

TEST(NameSource, ListMayBeCalledOne) {
  Told told;
  auto source = NameSource::Create("list:soft://a:1", TellTo(told));
  EXPECT_EQ(told.Next(), "soft://a:1");
}

TEST(NameSource, BadUrisAreRefusedInWords) {
  EXPECT_EQ(ErrorOf("a"), "servers \"a\": \"a\": the port is missing; write host:port");
  EXPECT_EQ(ErrorOf("zookeeper://a:1"),
            "servers \"zookeeper://a:1\": \"zookeeper://a:1\": unknown scheme; write host:port");
  EXPECT_EQ(ErrorOf("dns://a:1"), "servers \"dns://a:1\": write dns:///name:port");
  EXPECT_EQ(ErrorOf("dns:///a"), "servers \"dns:///a\": \"a\": the port is missing; write host:port");
  EXPECT_EQ(ErrorOf("file://servers"), "servers \"file://servers\": the path of a file is missing; write file:///path");
  EXPECT_EQ(ErrorOf("etcd://a:1"), "servers \"etcd://a:1\": the prefix is missing; write etcd://host:port/prefix");
  EXPECT_EQ(ErrorOf("etcd://a/b"), "servers \"etcd://a/b\": \"a\": the port is missing; write host:port");
}

TEST(NameSource, PortOfADnsServerIsChecked) {
  for (const std::string server : {"127.0.0.1:65536", "[::1]:70000", "127.0.0.1:0"}) {
    const std::string uri = "dns://" + server + "/a:1";
    EXPECT_EQ(ErrorOf(uri),
              "servers \"" + uri + "\": \"" + server + "\": the port is not a number from 1 to 65535; write host:port");
  }
  for (const std::string server : {"127.0.0.1", "127.0.0.1:53", "[::1]:53", "::1", "[::1]"}) {
    EXPECT_EQ(ErrorOf("dns://" + server + "/a:1"), "");
  }
}

TEST(NameSource, BadOptionsAndNoWatcherAreRefused) {
  NameSourceOptions options;
  options.dns_interval = absl::ZeroDuration();
  EXPECT_EQ(ErrorOf("a:1", options), "NameSourceOptions: dns_interval is 0; allowed are 1ms to 24h");
  EXPECT_FALSE(NameSource::Create("a:1", nullptr).ok());
}

TEST(NameSource, WatcherMayDestroyItsSource) {
  const TemporaryFolder folder;
  folder.Write("servers", "a:1\n");
  Told told;
  auto held = std::make_shared<std::unique_ptr<NameSource>>();
  std::promise<void> stored;
  auto created = NameSource::Create(
      "file://" + folder.Path("servers"),
      [told, held, ready = stored.get_future()](absl::StatusOr<std::vector<ServerAddress>> list) mutable {
        ready.wait();
        held->reset();
        told.Add(InWords(list));
      });
  *held = *std::move(created);
  stored.set_value();
  EXPECT_EQ(told.Next(), "a:1");
}

TEST(NameSource, WhatAWatcherThrowsIsALineInTheLog) {
  std::vector<std::string> lines;
  SetLogSink([&](Severity, absl::string_view text) { lines.emplace_back(text); });
  const TemporaryFolder folder;
  folder.Write("servers", "a:1\n");
  Told told;
  auto source = NameSource::Create("file://" + folder.Path("servers"),
                                   [told](absl::StatusOr<std::vector<ServerAddress>> list) mutable {
                                     told.Add(InWords(list));
                                     throw std::runtime_error("of the test");
                                   });
  EXPECT_EQ(told.Next(), "a:1");
  folder.Replace("servers", "b:1\n");
  EXPECT_EQ(told.Next(), "b:1");
  source->reset();
  SetLogSink({});
  EXPECT_EQ(lines, std::vector<std::string>(2, "a watcher of names threw: of the test"));
}

TEST(NameSource, DestructorWaitsForTheWatcher) {
  std::promise<void> called, released;
  bool returned = false;
  auto source = NameSource::Create("a:1", [&](absl::StatusOr<std::vector<ServerAddress>>) {
    called.set_value();
    released.get_future().wait();
    returned = true;
  });
  called.get_future().wait();
  std::thread releaser([&] { released.set_value(); });
  source->reset();
  EXPECT_TRUE(returned);
  releaser.join();
}

}  // namespace
}  // namespace verbena::rpc
