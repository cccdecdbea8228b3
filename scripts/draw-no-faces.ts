import { fileURLToPath } from "node:url";
import sharp from "sharp";

/** An image without people: hills behind a lake, and pines. */
const LANDSCAPE = `
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 400" width="640" height="400">
  <defs>
    <linearGradient id="sky" x2="0" y2="1"><stop stop-color="#5b8fc7"/><stop offset="1" stop-color="#f4dcc0"/></linearGradient>
    <linearGradient id="lake" x2="0" y2="1"><stop stop-color="#9fb8c4"/><stop offset="1" stop-color="#2f5570"/></linearGradient>
    <g id="pine" fill="#20402c">
      <rect x="-3" y="-14" width="6" height="14" fill="#4a3626"/>
      <path d="M-26 -12 H26 L0 -56 Z M-21 -38 H21 L0 -80 Z M-15 -62 H15 L0 -100 Z"/>
    </g>
  </defs>
  <rect width="640" height="250" fill="url(#sky)"/>
  <path d="M0 210 L110 90 L190 165 L300 60 L430 190 L520 120 L640 215 V260 H0 Z" fill="#7d8aa3"/>
  <path d="M0 235 Q160 165 330 228 T640 205 V270 H0 Z" fill="#5c7a5e"/>
  <rect y="250" width="640" height="150" fill="url(#lake)"/>
  <g stroke="#dfe8ea" stroke-opacity="0.5" stroke-width="2">
    <path d="M90 290 H260 M330 312 H520 M180 338 H300 M420 356 H600"/>
  </g>
  <path d="M0 330 Q120 300 230 400 H0 Z M640 320 Q520 330 470 400 H640 Z" fill="#3d5a3a"/>
  <use href="#pine" transform="translate(60 352)"/>
  <use href="#pine" transform="translate(128 372) scale(0.7)"/>
  <use href="#pine" transform="translate(575 370) scale(1.2)"/>
</svg>`;

const target = fileURLToPath(new URL("../examples/photos/no-faces.jpg", import.meta.url));
await sharp(Buffer.from(LANDSCAPE)).jpeg({ quality: 85, mozjpeg: true }).toFile(target);
console.log(target);
