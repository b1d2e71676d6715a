// @ts-check
// Every head of a model: what Python has seen on one text.

import { frame } from "../shared/frame.js";
import { explorer } from "./explorer.js";

/** @import { Place } from "../shared/frame.js" */

/** @param {Place} place */
function render({ model, el: root }) {
  const { body, signal, end } = frame(root, "head-explorer");
  explorer(model, root, body, signal);
  return end;
}

export default { render };
