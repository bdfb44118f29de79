#include "cli/sweep_hosts.h"

#include <algorithm>
#include <fstream>

#include "base/fail.h"
#include "cli/folder.h"

namespace assay::cli {

namespace {

std::string without_blanks(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// "@group/2/user@board" is "user@board".
std::string login_of(std::string line) {
  if (line.starts_with('@')) line.erase(0, line.find('/') + 1);
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 && line[digits] == '/') line.erase(0, digits + 1);
  return without_blanks(line);
}

std::string command_of(const std::string& login) {
  if (login == ":") return "sh -c";  // this machine
  return login.find(' ') == std::string::npos ? "ssh " + login : login;
}

void name_hosts(std::vector<SweepHostLogin>& hosts) {
  std::vector<std::string> last_words;
  for (const SweepHostLogin& host : hosts) {
    const std::string word = host.login == ":" ? "localhost" : host.login;
    last_words.push_back(word.substr(word.rfind(' ') + 1));
  }
  const std::vector<std::string> names = file_names(last_words);
  for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i].name = names[i];
}

}  // namespace

std::vector<SweepHostLogin> read_hosts(const std::string& file) {
  std::ifstream lines(file);
  if (!lines) fail_bad_input("{}: cannot be read; it has a host in each line", file);
  std::vector<SweepHostLogin> hosts;
  for (std::string line; std::getline(lines, line);) {
    const std::string login = login_of(without_blanks(line.substr(0, line.find('#'))));
    if (login.empty()) continue;
    const bool is_new = std::ranges::find(hosts, login, &SweepHostLogin::login) == hosts.end();
    if (is_new) hosts.push_back({.login = login, .command = command_of(login)});
  }
  if (hosts.empty()) fail_bad_input("{}: names no host; write one in each line", file);
  name_hosts(hosts);
  return hosts;
}

}  // namespace assay::cli
