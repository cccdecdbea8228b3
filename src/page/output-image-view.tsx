import { useEffect, useRef, useState } from "preact/hooks";
import type { OutputImage } from "./output-image.ts";

/** An output that is an image. */
export function OutputImageView({ image, name }: { readonly image: OutputImage; readonly name: string }) {
  return (
    <figure>
      {"bytes" in image ? <Encoded image={image} name={name} /> : <Pixels image={image} name={name} />}
      <figcaption class="facts">{name}</figcaption>
    </figure>
  );
}

function Encoded({ image, name }: { readonly image: Extract<OutputImage, { bytes: unknown }>; readonly name: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([image.bytes], { type: image.type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [image]);
  return url === "" ? null : <img src={url} alt={`Output ${name}`} />;
}

function Pixels({ image, name }: { readonly image: Extract<OutputImage, { pixels: unknown }>; readonly name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height, pixels } = image;
  useEffect(() => {
    canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, width, height), 0, 0);
  }, [pixels, width, height]);
  return <canvas ref={canvas} width={width} height={height} role="img" aria-label={`Output ${name}`} />;
}
