#include "report/display_names.h"

#include <gtest/gtest.h>

#include <set>

#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

TEST(DisplayNames, RepeatedScopesAndTheOpAreLeftOut) {
  const std::vector<std::string> names = {"/features/features.4/block/block.0/block.0.0/Conv",
                                          "/classifier/classifier.3/Gemm", "/Flatten",
                                          "/trunk/block1/block1-0/f/f.a/Conv"};
  const DisplayNames shown(names);
  EXPECT_EQ(shown.of(names[3]), "trunk.block1-0.f.a");
  EXPECT_EQ(shown.of(names[0]), "features.4.block.0.0");
  EXPECT_EQ(shown.of(names[1]), "classifier.3");
  EXPECT_EQ(shown.of(names[2]), "Flatten");
}

TEST(DisplayNames, OpsOfOneModuleKeepTheirOp) {
  const std::vector<std::string> names = {"/a/mlp/mlp.0/MatMul", "/a/mlp/mlp.0/Add", "/b/fc/Gemm"};
  const DisplayNames shown(names);
  EXPECT_EQ(shown.of(names[0]), "a.mlp.0.MatMul");
  EXPECT_EQ(shown.of(names[1]), "a.mlp.0.Add");
  EXPECT_EQ(shown.of(names[2]), "b.fc");
}

TEST(DisplayNames, AScopeThatAllShareIsLeftOut) {
  const std::vector<std::string> names = {"/model/stem/Conv", "/model/head/Gemm", "Cast_1"};
  const DisplayNames shown(names);
  EXPECT_EQ(shown.of(names[0]), "stem");
  EXPECT_EQ(shown.of(names[1]), "head");
  EXPECT_EQ(shown.of(names[2]), "Cast_1");
}

TEST(DisplayNames, DifferentNamesNeverBecomeTheSame) {
  const std::vector<std::string> names = {"/a/b/Conv", "a.b", "a/b/Conv", "/a/b.Conv", "/x/Relu",
                                          "/x/Add",    "x",   "/",        "",          "/a/b/Conv"};
  const DisplayNames shown(names);
  const std::set<std::string> different(names.begin(), names.end());
  std::set<std::string> forms;
  for (const auto& name : names) forms.insert(shown.of(name));
  EXPECT_EQ(forms.size(), different.size());
}

TEST(DisplayNames, SentencesNameLayersAlike) {
  const std::vector<std::string> names = {"/conv1/Conv", "/fc/fc.1/Gemm"};
  EXPECT_EQ(DisplayNames(names).in_text("between '/conv1/Conv' and /fc/fc.1/Gemm (jit), 3 MB/s"),
            "between 'conv1' and fc.1 (jit), 3 MB/s");
}

TEST(DisplayNames, ScopesAreThoseOfTheModule) {
  EXPECT_EQ(scopes_of("/features/features.4/block/block.0/block.0.0/Conv"),
            (std::vector<std::string>{"features.4", "block.0.0"}));
  EXPECT_TRUE(scopes_of("/Flatten").empty());
  EXPECT_TRUE(scopes_of("conv1").empty());
}

TEST(ShortenedApart, TakesTheMiddleAwayWhereNamesDifferElsewhere) {
  const std::vector<std::string> names = {"encoder.layers.1.attention.projection",
                                          "encoder.layers.2.attention.projection", "short"};
  const auto forms = shortened_apart(names, 20);
  EXPECT_NE(forms[0], forms[1]);
  EXPECT_EQ(forms[2], "short");
  for (const auto& form : forms) EXPECT_LE(display_width(form), 20u);
}

TEST(ShortenedApart, NumbersNamesThatCannotBeToldApartOtherwise) {
  const std::string many(30, 'a');
  const std::vector<std::string> names = {many + "1" + many, many + "2" + many, many + "1" + many};
  const auto forms = shortened_apart(names, 12);
  EXPECT_NE(forms[0], forms[1]);
  EXPECT_EQ(forms[0], forms[2]);
  for (const auto& form : forms) EXPECT_LE(display_width(form), 12u);
}

}  // namespace
}  // namespace assay
