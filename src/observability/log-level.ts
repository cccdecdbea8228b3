/** Log levels, most talkative first. In a file without imports, so that naming them does not load the logger. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];
