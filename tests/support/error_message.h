// The message of the Error that an action throws; empty if it throws none.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "assay/error.h"

namespace assay {

template <typename Action>
std::string error_message(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// An Error of another kind fails the test.
template <typename Action>
std::string error_message(ErrorKind kind, Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace assay
