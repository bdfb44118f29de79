// What happens to memory of the heap that is freed.
#pragma once

namespace assay {

// Large blocks are returned to the system when they are freed, however many there were: the process
// takes no more memory than it uses.
void return_freed_memory();

// Freed memory is kept for the next batch: a page that is returned and requested again has to be
// cleared each time.
void keep_freed_memory();

}  // namespace assay
