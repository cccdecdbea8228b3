/** Size of the largest message of gRPC's own services, in bytes: they hold a few names. */
export const MAX_REQUEST_BYTES = 64 * 1024;
