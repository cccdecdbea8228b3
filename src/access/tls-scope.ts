/** Parts that are encrypted: both ports, or gRPC alone, with its Unix socket. */
export const TLS_SCOPES = ["ports", "grpc"] as const;
