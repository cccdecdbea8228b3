import type { InParts, TextUsage } from "./text-request.ts";

/** A request for the text of a sound. */
export interface TranscribeRequest {
  readonly audio: {
    /** The file as it was sent. */
    readonly bytes: Uint8Array;
    /** By its first bytes: `audio/wav`, for example; else `application/octet-stream`. */
    readonly mediaType: string;
  };
  /** `translate` = the text is to be English, whatever is spoken. */
  readonly task: "transcribe" | "translate";
  /** The language that is spoken, such as `en`. */
  readonly language?: string;
  /** A text by which the style of the answer is guided. */
  readonly prompt?: string;
  readonly temperature?: number;
  /** The times that the answer is to have; empty = the text alone is wanted. */
  readonly timestamps: readonly ("word" | "segment")[];
  /** The other fields of the request, as they were sent. */
  readonly more: Readonly<Record<string, unknown>>;
}

/** Seconds from the beginning of a sound. */
interface TimeSpan {
  readonly start: number;
  readonly end: number;
}

/** An answer of {@link TranscribeRequest}, or a part of one: a text, or one with more to say. */
export type TranscribePart =
  | string
  | {
      /** Default: the texts of the segments, one behind the other. */
      readonly text?: string | undefined;
      /** Needed by clients that ask for subtitles. */
      readonly segments?: readonly (TimeSpan & { readonly text: string })[] | undefined;
      readonly words?: readonly (TimeSpan & { readonly word: string })[] | undefined;
      /** The language that was heard. */
      readonly language?: string | undefined;
      /** Seconds of the sound. */
      readonly duration?: number | undefined;
      readonly usage?: TextUsage | undefined;
    };

/** A request for a text as sound. */
export interface SpeakRequest {
  readonly text: string;
  /** A name of the model's own; empty = the client names none. */
  readonly voice: string;
  /** A wish for the sound of the voice. */
  readonly instructions?: string;
  /** The kind of file; `pcm` is 16-bit little-endian samples, 24,000 a second. */
  readonly format: "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";
  /** 1 = as fast as usual. */
  readonly speed: number;
  /** The other members of the request, as they were sent. */
  readonly more: Readonly<Record<string, unknown>>;
}

type Bytes = Uint8Array | AsyncIterable<Uint8Array> | Generator<Uint8Array | Promise<Uint8Array>, void, undefined>;

/** A file of sound, whole or in pieces, which are sent as they are made. */
export type SpeakAnswer =
  | Bytes
  | {
      readonly audio: Bytes;
      /** Default: by the first bytes, else that of the format which the client asked for. */
      readonly mediaType?: string | undefined;
    };

/** A request for pictures. */
export interface ImageRequest {
  readonly prompt: string;
  /** So many pictures are wanted. */
  readonly count: number;
  /** In pixels; absent = the client leaves the size to the model. */
  readonly width?: number;
  readonly height?: number;
  /** The kind of file; absent = any. */
  readonly format?: "png" | "jpeg" | "webp";
  /** The other members of the request, as they were sent: `quality`, for example. */
  readonly more: Readonly<Record<string, unknown>>;
}

/** A picture as a file: `encodeImage` makes one of pixels. */
type Picture =
  | Uint8Array
  | {
      readonly bytes: Uint8Array;
      /** The prompt that the picture was made of, if it is another. */
      readonly revisedPrompt?: string | undefined;
    };

/** As many pictures as were asked for. */
export type ImageAnswer =
  | Picture
  | readonly Picture[]
  | { readonly images: readonly Picture[]; readonly usage?: TextUsage | undefined };

/** Functions of a hook file that answer requests about sound and pictures. */
export interface MediaFunctions<Context> {
  /** Writes down speech: `POST /v1/audio/transcriptions` and `/v1/audio/translations`. */
  readonly transcribe?: (request: TranscribeRequest, ctx: Context) => InParts<TranscribePart>;
  /** Speaks a text: `POST /v1/audio/speech`. */
  readonly speak?: (request: SpeakRequest, ctx: Context) => SpeakAnswer | Promise<SpeakAnswer>;
  /** Makes pictures: `POST /v1/images/generations`. */
  readonly generateImage?: (request: ImageRequest, ctx: Context) => ImageAnswer | Promise<ImageAnswer>;
}
