import { useState } from "preact/hooks";
import type { PageVersion } from "../protocols/page/page-data.ts";
import { readWrittenForm, toUrlSafe, type WrittenForm, withoutSecrets } from "./input-state.ts";
import { linkTo, readPlace } from "./use-place.ts";

/** Characters of a link that mail and chat programs leave whole. */
const MAX_LINK = 8000;

interface CopyLinkProps {
  readonly of: Pick<PageVersion, "model" | "version">;
  readonly readForm: () => WrittenForm;
}

/** A button that copies a link to the form and its texts. */
export function CopyLink({ of, readForm }: CopyLinkProps) {
  const { told, copy } = useCopy();
  const [link, setLink] = useState("");
  const [problem, setProblem] = useState("");
  const make = () => {
    const form = withoutSecrets(readForm());
    const made = form === undefined ? "" : writeLink(of, form);
    const isShort = made !== "" && made.length <= MAX_LINK;
    setLink(isShort ? made : "");
    if (made === "") return setProblem("A name says that an input is secret: no link is made.");
    if (!isShort)
      return setProblem(`The link would have ${made.length} characters; expected up to ${MAX_LINK}: fewer values.`);
    setProblem("");
    if (canCopy()) copy(made);
  };
  return (
    <>
      <button type="button" onClick={make}>
        {canCopy() ? "Copy the link" : "Show the link"}
      </button>
      <span class="facts" role="status">
        {problem || (link === "" ? "" : `${told} Files are not in it.`)}
      </span>
      {link !== "" && (
        <input
          class="link"
          readOnly
          aria-label="Link to this form"
          value={link}
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
    </>
  );
}

/** Browsers have a clipboard for pages over TLS or of this machine alone. */
export function canCopy(): boolean {
  return "clipboard" in navigator;
}

/** Copies a text, and tells if that was done. */
export function useCopy(): { readonly told: string; readonly copy: (text: string) => void } {
  const [told, setTold] = useState("");
  const copy = (text: string) =>
    void navigator.clipboard.writeText(text).then(
      () => setTold("Copied."),
      () => setTold("The browser does not let this page copy; select the text."),
    );
  return { told, copy };
}

/** In the fragment, which browsers send to no server. */
function writeLink({ model, version }: Pick<PageVersion, "model" | "version">, form: WrittenForm): string {
  const url = new URL(location.href);
  const inputs = toUrlSafe(new TextEncoder().encode(JSON.stringify(form))).replace(/=+$/, "");
  url.hash = `${linkTo("models", model, version)}?inputs=${inputs}`;
  return url.href;
}

/** Fragments whose inputs were taken, which are not again when the page comes back to them. */
const taken = new Set<string>();

/** The form that the page's address has for a version, once; undefined if it has none. */
export function takeLink({ model, version }: PageVersion): WrittenForm | "unreadable" | undefined {
  const { hash } = location;
  const [part, ofModel, ofVersion = version] = readPlace();
  const [, inputs] = /\?inputs=([^&]*)$/.exec(hash) ?? [];
  if (inputs === undefined || taken.has(hash) || part !== "models" || ofModel !== model || ofVersion !== version)
    return undefined;
  taken.add(hash);
  try {
    const bytes = Uint8Array.from(atob(inputs.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    return readWrittenForm(JSON.parse(new TextDecoder().decode(bytes))) ?? "unreadable";
  } catch {
    return "unreadable";
  }
}
