import { useEffect, useState } from "preact/hooks";

/** The part of the page that is shown, as the URL's fragment has it: `#/models/NAME/VERSION?inputs=INPUTS`. */
export function usePlace(): readonly string[] {
  const [place, setPlace] = useState(readPlace);
  useEffect(() => {
    // The link to the content is no part of the page.
    const follow = () => /^(?:#\/|$)/.test(location.hash) && setPlace(readPlace());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return place;
}

/** The link to a part of the page. */
export function linkTo(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/** {@link usePlace}, as of now, without inputs. */
export function readPlace(): readonly string[] {
  if (!location.hash.startsWith("#/")) return [];
  try {
    return location.hash.slice(2).replace(/\?.*$/, "").split("/").map(decodeURIComponent);
  } catch {
    return [];
  }
}
