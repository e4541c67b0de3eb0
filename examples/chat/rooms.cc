#include "examples/chat/rooms.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::examples {
namespace {

absl::Status CheckLength(absl::string_view what, absl::string_view text, size_t bytes_max) {
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(what, " is empty"));
  if (text.size() <= bytes_max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " has ", text.size(), " bytes; ", bytes_max, " at most"));
}

}  // namespace

void Rooms::Come(std::shared_ptr<Ears> ears) {
  const std::lock_guard lock(mu_);
  if (closed_.has_value()) return ears->Close(*closed_);
  at_the_door_.insert(std::move(ears));
}

void Rooms::GoAway(const std::shared_ptr<Ears>& ears) {
  const std::lock_guard lock(mu_);
  at_the_door_.erase(ears);
}

absl::Status Rooms::Join(const std::string& room, const std::string& name, std::shared_ptr<Ears> ears) {
  absl::Status checked = CheckLength("the room's name", room, kNameBytesMax);
  checked.Update(CheckLength("the member's name", name, kNameBytesMax));
  if (!checked.ok()) return checked;
  const std::lock_guard lock(mu_);
  if (closed_.has_value()) return *closed_;
  Members& members = rooms_[room];
  if (members.size() == kMembersMax) {
    return absl::ResourceExhaustedError(absl::StrCat("room ", room, " is full: it has ", kMembersMax, " members"));
  }
  if (!members.emplace(name, ears).second) {
    return absl::AlreadyExistsError(absl::StrCat("somebody called ", name, " is in room ", room));
  }
  at_the_door_.erase(ears);
  Tell(members, "", absl::StrCat(name, " has joined"));
  return absl::OkStatus();
}

absl::Status Rooms::Say(const std::string& room, const std::string& name, const std::string& text) {
  absl::Status checked = CheckLength("what was said", text, kTextBytesMax);
  if (!checked.ok()) return checked;
  const std::lock_guard lock(mu_);
  Tell(rooms_[room], name, text);
  return absl::OkStatus();
}

void Rooms::Leave(const std::string& room, const std::string& name) {
  const std::lock_guard lock(mu_);
  Members& members = rooms_[room];
  members.erase(name);
  Tell(members, "", absl::StrCat(name, " has left"));
  if (members.empty()) rooms_.erase(room);
}

void Rooms::Close(absl::Status why) {
  const std::lock_guard lock(mu_);
  for (const auto& ears : at_the_door_) ears->Close(why);
  for (const auto& [room, members] : rooms_) {
    for (const auto& [name, ears] : members) ears->Close(why);
  }
  closed_ = std::move(why);
}

void Rooms::Tell(const Members& members, const std::string& name, const std::string& text) {
  demo::Heard heard;
  heard.set_name(name);
  heard.set_text(text);
  for (const auto& [member, ears] : members) ears->Put(heard);
}

}  // namespace verbena::examples
