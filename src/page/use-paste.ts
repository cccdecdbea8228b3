import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/**
 * Takes the files that are pasted into a place for files. What is pasted elsewhere on the page is for its first place
 * for images, or else for its first place.
 */
export function usePaste(place: RefObject<HTMLElement | null>, take: (files: FileList) => void): void {
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const files = event.clipboardData?.files;
      if (files === undefined || files.length === 0 || placeFor(event.target) !== place.current) return;
      event.preventDefault();
      take(files);
    };
    document.addEventListener("paste", paste);
    return () => document.removeEventListener("paste", paste);
  });
}

function placeFor(target: EventTarget | null): Element | null {
  const around = target instanceof Element ? target.closest(".drop") : null;
  return around ?? document.querySelector(".drop.images") ?? document.querySelector(".drop");
}
