#pragma once

#include <string>

#include "lab/traffic/log_traffic.hpp"
#include "mankai/input/log_record.hpp"

namespace mankai::detail {

class LogWriter {
 public:
  /// `traffic` names paths and clients, and must outlive the writer.
  LogWriter(LogFormat format, bool is_common, const LogTraffic& traffic)
      : format_(format), is_common_(is_common), traffic_(&traffic) {}

  /// Rounds a time down to the format's resolution.
  [[nodiscard]] Time shown(Time time) const noexcept;

  void append_header(Time start, std::string& out) const;
  void append(const Request& request, std::string& out) const;

 private:
  void append_combined(const Request& request, std::string& out) const;
  void append_squid(const Request& request, std::string& out) const;
  void append_w3c(const Request& request, std::string& out) const;
  void append_json(const Request& request, std::string& out) const;

  LogFormat format_;
  bool is_common_;
  const LogTraffic* traffic_;
};

}  // namespace mankai::detail
