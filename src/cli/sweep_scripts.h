// Scripts that `assay sweep submit` writes, with names such as @FOLDER@ to fill in.
#pragma once

namespace assay::cli {

// A job of a Slurm array: measures one shard.
extern const char* const kSlurmJob;
// Copies a bundle to hosts, measures there, and brings journals back.
extern const char* const kDriveHosts;
// Part of the bundle: measures one shard on a host.
extern const char* const kRunShard;

}  // namespace assay::cli
