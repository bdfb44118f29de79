#include "cli/shell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/fail.h"
#include "base/system_error.h"
#include "base/text.h"

namespace assay::cli {

namespace {

std::string command_line(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quoted(word));
  return join(quoted, " ");
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

bool has_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

ProgramResult run_program(const std::vector<std::string>& words) {
  FILE* pipe = ::popen(command_line(words).c_str(), "re");
  if (pipe == nullptr) fail_running("cannot start {}: {}", words.front(), last_system_error());
  ProgramResult result;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), count);
  }
  result.exit_code = exit_code_of(::pclose(pipe));
  return result;
}

int run_visibly(const std::vector<std::string>& words) {
  const int status = std::system((command_line(words) + " >&2").c_str());
  if (status < 0) fail_running("cannot start {}: {}", words.front(), last_system_error());
  return exit_code_of(status);
}

}  // namespace assay::cli
