// The explanation as text: for each entry a table of kernels, why some stay apart, and what each member of the model takes.
#include "compiler/Explain/Explanation.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <cmath>

namespace xf {
namespace {

/// A number with three digits, for columns of numbers.
std::string digits(double value) {
  char text[32];
  const char *format = value >= 100 || value == 0 ? "%.0f" : value >= 10 ? "%.1f" : value >= 1 ? "%.2f" : value >= 0.001 ? "%.3f" : "%.0e";
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string percent(double part, double whole) {
  char text[32];
  double value = whole > 0 ? 100 * part / whole : 0;
  std::snprintf(text, sizeof(text), value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

/// A number with the greatest of three units in which it is not below 1.
std::string withUnit(double value, std::array<const char *, 3> units) {
  size_t unit = value >= 1 ? 0 : value >= 1e-3 ? 1 : 2;
  return digits(value * std::pow(1e3, double(unit))) + units[unit];
}

std::string column(const std::string &text, size_t width) { return std::string(width > text.size() ? width - text.size() : 0, ' ') + text; }

class EntryPrinter {
public:
  EntryPrinter(const ExplainedEntry &entry, bool timed, llvm::raw_ostream &os) : entry(entry), timed(timed), launched(entry.launches() > 0), os(os) {}

  void print() {
    Cost total = entry.total();
    os << "\n" << entry.name << ": " << entry.role << "\n";
    os << withUnit(total.operations / 1e6, {" million", " thousand", ""}) << " operations, "
       << withUnit(total.weightBytes / 1e6, {" MB", " KB", " bytes"}) << " of weights, " << withUnit(total.otherBytes / 1e6, {" MB", " KB", " bytes"})
       << " of other numbers";
    if (timed)
      os << "; " << withUnit(entry.nanoseconds / 1e6, {" ms", " us", " ns"}) << ", " << digits(total.operations / entry.nanoseconds) << " billion/s, "
         << digits(total.bytes() / entry.nanoseconds) << " GB/s";
    if (launched)
      os << "; on a GPU " << entry.launches() << (entry.launches() == 1 ? " launch" : " launches");
    os << "\n\n";
    os << (timed ? "   time      us   " : "  ") << "   Mop      MB  " << (timed ? "  Gop/s   GB/s  " : "")
       << (launched ? "launches, blocks x threads  " : "") << "kernel\n";
    for (const ExplainedLine &line : entry.lines)
      line.isStack ? printStack(line) : printCall(line);
    for (auto [i, reason] : llvm::enumerate(reasons))
      os << "  [" << i + 1 << "] apart: " << reason << "\n";
    printMembers();
  }

private:
  struct Member {
    std::string path;
    double value;
  };

  size_t widthOfNumbers() const { return (timed ? 49 : 18) + (launched ? kWidthOfLaunches + 2 : 0); }

  /// "6 of 32 x 128", several for a kernel in several stages.
  static std::string launchesOf(const ExplainedLine &line) {
    std::string text = line.isLaunchedWithNext ? "with the next" : "";
    for (const auto &[times, blocks, threads] : line.launches)
      text += (text.empty() ? "" : ", ") + std::to_string(times) + " of " + std::to_string(blocks) + " x " + std::to_string(threads);
    return text.empty() ? "none" : text;
  }

  void printStack(const ExplainedLine &line) {
    os << std::string(widthOfNumbers() + 2 * line.depth, ' ');
    os << (line.times == 1 ? "once" : std::to_string(line.times) + " times") << " " << line.text;
    if (!line.location.empty())
      os << "   " << line.location;
    os << "\n";
  }

  void printCall(const ExplainedLine &line) {
    if (timed)
      os << column(percent(line.nanoseconds, entry.nanoseconds), 6) << "%" << column(digits(line.nanoseconds / 1e3), 8) << "   ";
    else
      os << "  ";
    os << column(digits(line.cost.operations / 1e6), 6) << column(digits(line.cost.bytes() / 1e6), 8) << "  ";
    if (timed)
      os << column(digits(line.cost.operations / line.nanoseconds), 7) << column(digits(line.cost.bytes() / line.nanoseconds), 7) << "  ";
    if (launched)
      os << column(launchesOf(line), kWidthOfLaunches) << "  ";
    os << std::string(2 * line.depth, ' ') << line.kind << "  " << line.text;
    constexpr size_t kMaxFused = 6;
    for (auto [i, part] : llvm::enumerate(llvm::ArrayRef(line.fused).take_front(kMaxFused)))
      os << (i ? ", " : "  with  ") << part;
    if (line.fused.size() > kMaxFused)
      os << " and " << line.fused.size() - kMaxFused << " more";
    if (!line.location.empty())
      os << "   " << line.location;
    if (!line.notFused.empty())
      os << " [" << footnoteOf(line.notFused) << "]";
    os << "\n";
  }

  size_t footnoteOf(const std::string &reason) {
    if (!llvm::is_contained(reasons, reason))
      reasons.push_back(reason);
    return llvm::find(reasons, reason) - reasons.begin() + 1;
  }

  /// Prints what members take, together with the members inside them.
  void printMembers() {
    std::vector<Member> members;
    double all = 0, none = 0;
    for (const ExplainedLine &line : entry.lines) {
      double value = timed ? line.nanoseconds : line.cost.operations;
      all += value;
      none += line.path.empty() ? value : 0;
      for (llvm::StringRef path = line.path; !line.isStack && !path.empty(); path = path.contains('.') ? path.rsplit('.').first : "")
        find(members, path).value += value;
    }
    if (members.empty() || all == 0)
      return;
    os << "\n  " << (timed ? "time" : "operations") << " by member\n";
    printInside("", members, all, 0);
    if (none >= all / 1000)
      os << column(percent(none, all), 8) << "%  (in none of them)\n";
  }

  static Member &find(std::vector<Member> &members, llvm::StringRef path) {
    auto found = llvm::find_if(members, [&](const Member &member) { return member.path == path; });
    return found == members.end() ? members.emplace_back(Member{path.str(), 0}) : *found;
  }

  void printInside(llvm::StringRef parent, const std::vector<Member> &members, double all, unsigned depth) {
    for (const auto &[path, value] : members) {
      llvm::StringRef name = path;
      if (!name.consume_front(parent) || name.empty() || (!parent.empty() && !name.consume_front(".")) || name.contains('.'))
        continue;
      os << column(percent(value, all), 8) << "%  " << std::string(2 * depth, ' ') << name << "\n";
      printInside(path, members, all, depth + 1);
    }
  }

  const ExplainedEntry &entry;
  static constexpr size_t kWidthOfLaunches = 26;
  bool timed, launched;
  llvm::raw_ostream &os;
  std::vector<std::string> reasons;
};

} // namespace

void print(const Explanation &explanation, llvm::StringRef machine, llvm::raw_ostream &os) {
  os << "model " << explanation.model;
  os << (machine.empty() ? ", not measured: it has no code for CPUs" : (", measured on " + machine).str());
  os << "\n";
  if (explanation.entries.empty())
    return;
  if (!explanation.dims.empty()) {
    os << "at";
    for (const auto &name : explanation.dims)
      os << " " << name << "=" << explanation.entries.front().sizes.lookup(name);
    os << " (--at changes them)\n";
  }
  for (const ExplainedEntry &entry : explanation.entries)
    EntryPrinter(entry, !machine.empty() && entry.nanoseconds > 0, os).print();
}

} // namespace xf
