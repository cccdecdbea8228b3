import { ServingError } from "../../errors.ts";
import type { HttpExchange } from "../../proxy/http-exchange.ts";
import { EXPECTED_FORMATS, imageType } from "../../tensor/media/image-format.ts";
import { soundType } from "../../tensor/media/sound-format.ts";
import { type Members, writeRequest, wrongMember } from "./members.ts";

/** An image or a sound that is to be fetched, and the name of the member that says so. */
export interface MediaAddress {
  readonly type: "image" | "audio";
  readonly url: string;
  readonly at: string;
}

/** Characters of an address. */
const MAX_ADDRESS = 8192;
/** Addresses of one request. */
export const MAX_ADDRESSES = 16;

/** Reads an address that a member has; undefined if it is something else, such as a data URI. */
export function readAddress(place: Members, name: string, type: MediaAddress["type"]): MediaAddress | undefined {
  const url = place.requiredText(name);
  if (!/^https?:/i.test(url)) return undefined;
  if (url.length <= MAX_ADDRESS) return { type, url, at: place.placeOf(name) };
  throw wrongMember(place.placeOf(name), `an address of ${url.length} characters`, `${MAX_ADDRESS} at most`);
}

/** The addresses in messages, in their order, as JSON; undefined if they have none. */
export function addressesIn(messages: readonly object[]): Uint8Array | undefined {
  const contents = messages.flatMap((each) => (each as { readonly content?: readonly object[] }).content ?? []);
  const found = contents.filter((each) => "url" in each);
  if (found.length > MAX_ADDRESSES)
    throw wrongMember("messages", `${found.length} addresses of images and sound`, `${MAX_ADDRESSES} at most`);
  return found.length === 0 ? undefined : writeRequest(found);
}

/** A request for a function of hooks, and facts about it. */
interface WithMedia {
  readonly request: Uint8Array;
  readonly facts?: Readonly<Record<string, string>>;
}

/** Memory of all that one request has fetched. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Fetches the images and sound that a request has as addresses, and puts their bytes behind it, all counted. Throws
 * `invalid_argument` with the member's name for one that is not to be had, is none by its first bytes, or is not
 * fetched at all.
 */
export async function withMedia(asked: WithMedia, addresses: Uint8Array, exchange: HttpExchange): Promise<WithMedia> {
  const all: readonly MediaAddress[] = JSON.parse(Buffer.from(addresses).toString());
  const ending = new AbortController();
  const signal = AbortSignal.any([exchange.signal, ending.signal]);
  let held = 0;
  let tooLarge: Error | undefined;
  const grow = (bytes: number) => {
    if (held + bytes > MAX_BYTES) {
      tooLarge ??= wrongMember("messages", "too large", `${MAX_BYTES} bytes of media at most`);
      throw tooLarge;
    }
    exchange.hold(bytes);
    held += bytes;
  };
  const media = await Promise.all(
    all.map((address) => fetchOne(address, exchange, { signal, client: exchange.client, grow })),
  ).catch((reason) => {
    ending.abort(reason);
    throw tooLarge ?? reason;
  });
  const made = joined(asked, media, exchange);
  exchange.hold(-held);
  return made;
}

interface Media {
  readonly pieces: readonly Buffer[];
  readonly bytes: number;
  readonly mediaType: string;
}

type OwnCall = Parameters<NonNullable<HttpExchange["media"]>["fetch"]>[1];

async function fetchOne(address: MediaAddress, exchange: HttpExchange, own: OwnCall): Promise<Media> {
  const pieces = await fetchPieces(address, exchange, own);
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  return { pieces, bytes, mediaType: typeOf(address, Buffer.concat(pieces, Math.min(bytes, HEAD_BYTES))) };
}

/** First bytes by which a file is known. */
const HEAD_BYTES = 256;

async function fetchPieces(
  { url, at }: MediaAddress,
  { media }: HttpExchange,
  own: OwnCall,
): Promise<readonly Buffer[]> {
  if (media === undefined)
    throw wrongMember(
      at,
      "an address, which is not fetched",
      "the data itself (data:image/jpeg;base64,…), or a server with --fetch-media HOSTS",
    );
  try {
    return await media.fetch(url, own);
  } catch (reason) {
    if (!(reason instanceof ServingError) || reason.code !== "invalid_argument") throw reason;
    throw wrongMember(
      at,
      `an address that cannot be fetched: ${reason.message}`,
      "another one, or the data itself (data:image/jpeg;base64,…)",
    );
  }
}

/** The media type by the first bytes: what a server says of its file does not count. */
function typeOf({ type, at }: MediaAddress, bytes: Uint8Array): string {
  const found = type === "image" ? imageType(bytes) : soundType(bytes);
  if (found !== undefined) return found;
  const expected = type === "image" ? EXPECTED_FORMATS.replace("expected ", "") : "WAV, Ogg, FLAC or MP3";
  throw wrongMember(at, type === "image" ? "the address of no image" : "the address of no sound", expected);
}

function joined({ request, facts }: WithMedia, media: readonly Media[], exchange: HttpExchange): WithMedia {
  const total = media.reduce((sum, { bytes }) => sum + bytes, request.length);
  exchange.hold(total);
  const whole = new Uint8Array(total);
  whole.set(request);
  let at = request.length;
  for (const piece of media.flatMap(({ pieces }) => pieces)) {
    whole.set(piece, at);
    at += piece.length;
  }
  const told = media.map(({ mediaType, bytes }) => ({ mediaType, bytes }));
  return {
    request: whole,
    facts: { ...facts, fetched: JSON.stringify({ requestBytes: request.length, media: told }) },
  };
}
