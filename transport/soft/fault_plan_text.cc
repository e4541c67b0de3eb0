// Fault plans as text: ParseFaultPlan and FormatFaultPlan.

#include <array>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "transport/soft/fault_kinds.h"

namespace verbena::soft {
namespace {

// A random plan longer than this is a slip of the pen, and would take the memory of the process.
constexpr uint32_t kRandomCountMax = 100'000;

// As in ibv_wc_status, without the prefix.
struct StatusWord {
  absl::string_view word;
  ibv_wc_status status;
};
constexpr std::array kStatusWords = {
    StatusWord{"LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR},           StatusWord{"LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR},
    StatusWord{"LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR},         StatusWord{"WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR},
    StatusWord{"MW_BIND_ERR", IBV_WC_MW_BIND_ERR},           StatusWord{"BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR},
    StatusWord{"LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR},     StatusWord{"REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR},
    StatusWord{"REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR},     StatusWord{"REM_OP_ERR", IBV_WC_REM_OP_ERR},
    StatusWord{"RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR},       StatusWord{"RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR},
    StatusWord{"REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR},       StatusWord{"FATAL_ERR", IBV_WC_FATAL_ERR},
    StatusWord{"RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR}, StatusWord{"GENERAL_ERR", IBV_WC_GENERAL_ERR},
};

absl::Status NotUnderstood(absl::string_view fault, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("fault plan: \"", fault, "\": ", why));
}

struct Assignment {
  absl::string_view word;
  std::optional<absl::string_view> value;
};

Assignment SplitAssignment(absl::string_view text) {
  size_t equals = text.find('=');
  if (equals == absl::string_view::npos) return {absl::StripAsciiWhitespace(text), std::nullopt};
  return {absl::StripAsciiWhitespace(text.substr(0, equals)), absl::StripAsciiWhitespace(text.substr(equals + 1))};
}

// From 1, or '*', which is 0. Nothing if it is neither.
template <typename Number>
std::optional<Number> PlaceNumber(absl::string_view text) {
  Number number = 0;
  if (text == "*") return number;
  if (!absl::SimpleAtoi(text, &number) || number == 0) return std::nullopt;
  return number;
}

// Where a fault happens, as written.
struct Place {
  FaultObject object = FaultObject::kProcess;
  FaultOperation operation = FaultOperation::kLife;
  uint32_t object_number = 0;
  uint64_t operation_number = 0;
};

template <typename Word>
std::optional<Word> Find(absl::string_view word, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    if (WordOf(static_cast<Word>(i)) == word) return static_cast<Word>(i);
  }
  return std::nullopt;
}

absl::StatusOr<Place> ParsePlace(absl::string_view fault, absl::string_view text) {
  Place place;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    Assignment assignment = SplitAssignment(part);
    absl::string_view value = assignment.value.value_or("");
    auto object_number = PlaceNumber<uint32_t>(value);
    auto operation_number = PlaceNumber<uint64_t>(value);
    auto object = Find<FaultObject>(assignment.word, kFaultObjects);
    auto operation = Find<FaultOperation>(assignment.word, kFaultOperations);
    if (!object.has_value() && !operation.has_value()) {
      return NotUnderstood(fault, absl::StrCat("there is no place \"", assignment.word, "\""));
    }
    if (object.has_value() ? !object_number.has_value() : !operation_number.has_value()) {
      return NotUnderstood(fault, absl::StrCat(assignment.word, " wants a number from 1, or *"));
    }
    bool twice = object.has_value() ? place.object != FaultObject::kProcess : place.operation != FaultOperation::kLife;
    if (twice) return NotUnderstood(fault, "it names two places");
    if (object.has_value()) std::tie(place.object, place.object_number) = std::pair(*object, *object_number);
    if (operation.has_value())
      std::tie(place.operation, place.operation_number) = std::pair(*operation, *operation_number);
  }
  return place;
}

std::string NamesAt(const Place& place) {
  std::vector<absl::string_view> names;
  for (const FaultTraits& each : AllFaultKinds()) {
    if (each.object == place.object && each.operation == place.operation) names.push_back(each.name);
  }
  return names.empty() ? "nothing" : absl::StrJoin(names, ", ");
}

const FaultTraits* FindKind(const Place& place, absl::string_view name) {
  for (const FaultTraits& each : AllFaultKinds()) {
    if (each.name == name && each.object == place.object && each.operation == place.operation) return &each;
  }
  return nullptr;
}

absl::Status ReadArgument(absl::string_view text, FaultArgument wanted, std::optional<absl::string_view> value,
                          Fault* fault) {
  switch (wanted) {
    case FaultArgument::kNone:
      return value.has_value() ? NotUnderstood(text, "it takes no value") : absl::OkStatus();
    case FaultArgument::kAmount:
      if (value.has_value() && absl::SimpleAtoi(*value, &fault->amount) && fault->amount > 0) return absl::OkStatus();
      return NotUnderstood(text, "it wants a number from 1");
    case FaultArgument::kStatus:
      for (const StatusWord& each : kStatusWords) {
        if (value != each.word) continue;
        fault->status = each.status;
        return absl::OkStatus();
      }
      return NotUnderstood(text, "it wants a completion status such as REM_ACCESS_ERR");
  }
  return absl::OkStatus();
}

absl::StatusOr<Fault> ParseFault(absl::string_view text, size_t colon) {
  absl::StatusOr<Place> place = ParsePlace(text, text.substr(0, colon));
  if (!place.ok()) return place.status();
  Assignment what = SplitAssignment(text.substr(colon + 1));
  const FaultTraits* traits = FindKind(*place, what.word);
  if (traits == nullptr) return NotUnderstood(text, absl::StrCat("what can happen there: ", NamesAt(*place)));
  Fault fault = {.kind = traits->kind, .object = place->object_number, .operation = place->operation_number};
  if (absl::Status status = ReadArgument(text, traits->argument, what.value, &fault); !status.ok()) return status;
  return fault;
}

// "seed=7" and its like. `seeded` becomes true with the seed.
absl::Status ReadChoice(absl::string_view text, RandomFaults* choice, bool* seeded) {
  Assignment assignment = SplitAssignment(text);
  absl::string_view value = assignment.value.value_or("");
  if (assignment.word == "seed") {
    *seeded = absl::SimpleAtoi(value, &choice->seed);
    return *seeded ? absl::OkStatus() : NotUnderstood(text, "seed wants a number");
  }
  if (assignment.word == "kinds") {
    if (value != "harmless" && value != "survivable") return NotUnderstood(text, "kinds are harmless or survivable");
    choice->kinds = value == "harmless" ? FaultKinds::kHarmless : FaultKinds::kSurvivable;
    return absl::OkStatus();
  }
  const std::array<std::pair<absl::string_view, uint32_t*>, 3> numbers = {
      {{"count", &choice->count}, {"objects", &choice->objects}, {"operations", &choice->operations}}};
  for (const auto& [word, number] : numbers) {
    if (assignment.word != word) continue;
    bool good = absl::SimpleAtoi(value, number) && *number > 0 && choice->count <= kRandomCountMax;
    return good ? absl::OkStatus() : NotUnderstood(text, absl::StrCat(word, " wants a number from 1"));
  }
  return NotUnderstood(text, "neither a fault (\"where:what\") nor seed, kinds, count, objects or operations");
}

absl::string_view WordOf(ibv_wc_status status) {
  for (const StatusWord& each : kStatusWords) {
    if (each.status == status) return each.word;
  }
  return "GENERAL_ERR";
}

std::string Numbered(absl::string_view word, uint64_t number) {
  return number == 0 ? absl::StrCat(word, "=*") : absl::StrCat(word, "=", number);
}

std::string FormatFault(const Fault& fault) {
  const FaultTraits& traits = TraitsOf(fault.kind);
  std::vector<std::string> place;
  if (traits.object != FaultObject::kProcess) place.push_back(Numbered(WordOf(traits.object), fault.object));
  if (traits.operation != FaultOperation::kLife) place.push_back(Numbered(WordOf(traits.operation), fault.operation));
  std::string text = absl::StrCat(absl::StrJoin(place, ","), ":", traits.name);
  if (traits.argument == FaultArgument::kAmount) absl::StrAppend(&text, "=", fault.amount);
  if (traits.argument == FaultArgument::kStatus) absl::StrAppend(&text, "=", WordOf(fault.status));
  return text;
}

}  // namespace

absl::StatusOr<FaultPlan> ParseFaultPlan(absl::string_view text) {
  FaultPlan explicit_faults;
  RandomFaults choice;
  bool seeded = false;
  bool chosen = false;
  for (absl::string_view part : absl::StrSplit(text, ';')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;
    size_t colon = part.find(':');
    if (colon == absl::string_view::npos) {
      if (absl::Status status = ReadChoice(part, &choice, &seeded); !status.ok()) return status;
      chosen = true;
      continue;
    }
    absl::StatusOr<Fault> fault = ParseFault(part, colon);
    if (!fault.ok()) return fault.status();
    explicit_faults.push_back(*fault);
  }
  if (chosen && !seeded) return NotUnderstood(text, "a random plan wants a seed");
  FaultPlan plan = seeded ? RandomFaultPlan(choice) : FaultPlan();
  plan.insert(plan.end(), explicit_faults.begin(), explicit_faults.end());
  return plan;
}

std::string FormatFaultPlan(const FaultPlan& plan) {
  return absl::StrJoin(plan, ";", [](std::string* out, const Fault& fault) { out->append(FormatFault(fault)); });
}

}  // namespace verbena::soft
