import { CodecPool } from "./codec-pool.ts";

/** The threads that all servers of the process share. */
export const codecs = new CodecPool();
