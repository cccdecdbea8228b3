/** The call by which clients send the bytes of a decoder. */
export type MessageRoute = GrpcRoute | HttpRoute;

/** A method of gRPC, whose bytes are a message. */
export interface GrpcRoute {
  readonly method: string;
  /** True where the bytes begin with gRPC's prefix. */
  readonly isFramed?: boolean;
}

/** A route of HTTP, whose bytes are a body. */
export interface HttpRoute {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** True where the model has to take images. */
  readonly isImage?: boolean;
}
