/**
 * Descriptors of listening sockets with which the program was started, by
 * their use; others are opened.
 */
export interface InheritedSockets {
  /** For gRPC, and for HTTP too if both have one port. */
  readonly grpc?: number;
  readonly http?: number;
  readonly admin?: number;
  readonly metrics?: number;
}
