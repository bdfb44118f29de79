// Two devices as a file describes them, for tests of reading and of showing.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "assay/device_file.h"

namespace assay {

using Json = nlohmann::ordered_json;

inline Json figure(double value) {
  return {{"value", value}, {"source", "datasheet"}, {"kind", "theoretical"}};
}

inline Json whole_device() {
  Json bandwidth = {figure(12.8), figure(4.3), figure(5.56)};
  bandwidth[0]["note"] = "wire rate";
  bandwidth[0]["derived"] = {{"bus_bits", 32}, {"gigatransfers", 3.2}};
  bandwidth[2]["kind"] = "measured";
  bandwidth[2]["source"] = "STREAM";
  Json peak = figure(48);
  peak["derived"] = {{"cores", 4}, {"ghz", 1.5}, {"flops_per_cycle", 8}};
  return {{"id", "some-board"},
          {"name", "Some board"},
          {"kind", "single-board"},
          {"description", "four cores at 1.5 GHz"},
          {"cores", figure(4)},
          {"memory_bytes", figure(4294967296)},
          {"memory_bandwidth_gbps", bandwidth},
          {"peaks", {{"fp32", peak}, {"int8", nullptr}}},
          {"caches",
           {{{"level", 2}, {"shared_by", 4}, {"bytes", figure(1048576)}},
            {{"level", 1}, {"bytes", figure(32768)}, {"bandwidth_gbps", figure(90)}}}},
          {"power_watts", figure(7.2)},
          {"step_overhead_us", nullptr}};
}

inline Json small_device() {
  return {{"id", "some-chip"},
          {"name", "Some chip"},
          {"kind", "microcontroller"},
          {"memory_bytes", figure(262144)},
          {"flash_bytes", figure(1048576)},
          {"peaks", {{"int8", figure(0.256)}}},
          {"power_watts", figure(0.0099)}};
}

inline Json document(std::vector<Json> devices) {
  return {{"schema", "assay.devices/1"}, {"devices", std::move(devices)}};
}

inline std::vector<Device> some_devices() {
  return parse_devices_json(document({small_device(), whole_device()}).dump(), "x.json");
}

}  // namespace assay
