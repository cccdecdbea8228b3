/** Defaults of request logs: one table for `createServer`, configuration files and the command line. */
export const REQUEST_LOG_DEFAULTS = {
  rate: 1,
  /** Small enough to be read and sent again in minutes. */
  maxBytes: 128 * 1024 * 1024,
  files: 8,
} as const;
