/**
 * Maximum size of a request that does not run a model, in bytes, unless it contains
 * files: it has a few names and settings.
 */
export const SMALL_REQUEST_BYTES = 64 * 1024;
