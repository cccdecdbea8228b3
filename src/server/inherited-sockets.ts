/**
 * Descriptors of listening sockets with which the program was started, by what is to
 * be served on each; others are opened.
 */
export interface InheritedSockets {
  /** For gRPC, and for HTTP too where both have one port. */
  readonly grpc?: number;
  readonly http?: number;
  readonly admin?: number;
  readonly metrics?: number;
}
