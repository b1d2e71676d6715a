// @ts-check
// The colours of a number that may be negative: orange below zero, blue above, as in print.

import { clamp } from "./numbers.js";

const SIGNED_STOPS = [
  [138, 58, 0],
  [197, 102, 32],
  [232, 157, 100],
  [248, 212, 181],
  [254, 254, 255],
  [179, 215, 237],
  [99, 165, 207],
  [36, 111, 161],
  [11, 58, 99],
];

/** Red, green and blue of a number from −1 to 1, and beyond. @type {(value: number) => number[]} */
function signedChannels(value) {
  const place = ((clamp(value, -1, 1) + 1) / 2) * (SIGNED_STOPS.length - 1);
  const i = Math.min(Math.floor(place), SIGNED_STOPS.length - 2);
  const [here, next] = [SIGNED_STOPS[i], SIGNED_STOPS[i + 1]];
  return here.map((c, k) => Math.round(c + (place - i) * (next[k] - c)));
}

/** How light a colour looks, from 0 to 1, as WCAG has it. @type {(colour: number[]) => number} */
function luminance(colour) {
  const [red, green, blue] = colour.map((c) =>
    c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * Words on the colour of a number, as a style; in the dark, lightness is turned round.
 * @type {(value: number) => string}
 */
export function onSigned(value) {
  const colour = signedChannels(value);
  const ink = luminance(colour) > 0.179 ? "#000" : "#fff"; // where both stand out alike
  return `background:rgb(${colour.join(",")});color:${ink};filter:var(--mhsa-turned)`;
}
