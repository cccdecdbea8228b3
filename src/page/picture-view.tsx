import { useEffect, useRef, useState } from "preact/hooks";
import type { Picture } from "./picture-of.ts";

/** An output that is an image. */
export function PictureView({ picture, name }: { readonly picture: Picture; readonly name: string }) {
  return (
    <figure>
      {"bytes" in picture ? <Encoded picture={picture} name={name} /> : <Pixels picture={picture} name={name} />}
      <figcaption class="facts">{name}</figcaption>
    </figure>
  );
}

function Encoded({ picture, name }: { readonly picture: Extract<Picture, { bytes: unknown }>; readonly name: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([picture.bytes], { type: picture.type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [picture]);
  return url === "" ? null : <img src={url} alt={`Output ${name}`} />;
}

function Pixels({ picture, name }: { readonly picture: Extract<Picture, { pixels: unknown }>; readonly name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, pixels } = picture;
  useEffect(() => {
    canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [pixels, width, height]);
  return <canvas ref={canvas} width={width} height={height} role="img" aria-label={`Output ${name}`} />;
}
