// @ts-check
// The colours of a weight, and of series that stand side by side.

import { clamp } from "./numbers.js";

/** White is nothing, navy everything: the map of every picture of weights in the book. */
const WEIGHT_STOPS = [
  [240, 251, 255],
  [171, 228, 251],
  [106, 201, 244],
  [60, 172, 226],
  [45, 142, 198],
  [36, 112, 169],
  [29, 84, 139],
  [35, 58, 100],
  [29, 34, 61],
];

/** The colour of a weight from 0 to 1. @type {(weight: number) => string} */
export function weightColour(weight) {
  const place = clamp(weight, 0, 1) * (WEIGHT_STOPS.length - 1);
  const i = Math.min(Math.floor(place), WEIGHT_STOPS.length - 2);
  const [here, next] = [WEIGHT_STOPS[i], WEIGHT_STOPS[i + 1]];
  return `rgb(${here.map((c, k) => Math.round(c + (place - i) * (next[k] - c))).join(",")})`;
}

/** The colour of words on that colour. @type {(weight: number) => string} */
export function weightInk(weight) {
  return weight > 0.575 ? "#fff" : "#000";
}

/** In the dark, lightness is turned round: 0 is the colour of the page, 1 stands out. */
const TURNED = "filter:var(--mhsa-turned)";

/** Words on the colour of a weight, as a style. @type {(weight: number) => string} */
export const onWeight = (weight) =>
  `background:${weightColour(weight)};color:${weightInk(weight)};${TURNED}`;

/** Red, green and blue of a colour. @type {(colour: string) => number[]} */
export const channels = (colour) => (colour.match(/\d+/g) ?? []).map(Number);

/** Okabe and Ito's colours, as in the printed pictures; a number or a hatch says the same. */
export const SERIES = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#f0e442",
  "#999999",
];
