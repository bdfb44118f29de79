// How strongly successive samples are correlated.
//
// A correlation time of t means that n samples carry as much information as n / t independent ones.
// It comes from an autoregressive model of the samples' ranks, whose order is chosen by Akaike's
// criterion: ranks, because one outlier must not hide or feign dependence; a model, because sums of
// raw autocorrelations are far too noisy at a few hundred samples.
#pragma once

#include <span>

namespace assay::stats {

// For the mean of `series`, which must be centred; never below 1. `fitted` is the number of
// parameters already taken out of the series (1: its mean, 2: a line or a step): each makes it look
// less correlated than it is, which is corrected for.
double correlation_time_of_mean(std::span<const double> series, int fitted = 1);

// For the median of `samples`; never below 1. What counts for a median is whether each sample lies
// above or below it, which is less correlated than the samples are.
double correlation_time_of_median(std::span<const double> samples);

}  // namespace assay::stats
