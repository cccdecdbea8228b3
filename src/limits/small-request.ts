/** Size of the largest request that runs no model, in bytes, unless it brings files: it holds a few names and settings. */
export const SMALL_REQUEST_BYTES = 64 * 1024;
