// Removed when the folder's first real file lands.
