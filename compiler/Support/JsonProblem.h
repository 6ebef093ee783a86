// What is wrong with a text that should be JSON.
#ifndef XF_COMPILER_SUPPORT_JSONPROBLEM_H
#define XF_COMPILER_SUPPORT_JSONPROBLEM_H

#include <nlohmann/json.hpp>

#include <string>

namespace xf {

/// As messages say it: "parse error at line 2, column 17: syntax error while parsing object - …", of a text that is long as far as a line has it.
std::string describeProblem(const nlohmann::json::exception &problem);

} // namespace xf

#endif // XF_COMPILER_SUPPORT_JSONPROBLEM_H
