// The page's translator on many sentences: weights and cases come as JSON, what it writes goes out.

import { readFileSync } from "node:fs";

import { bytes } from "../../../mhsa_book/widgets/shared/numbers.js";
import { unpack } from "../../../mhsa_book/widgets/shared/halves.js";
import { translate } from "../../../mhsa_book/widgets/translator_lab/model.js";

const { data, layout, cases } = JSON.parse(readFileSync(0, "utf8"));
const model = unpack(bytes(data), layout);
const written = cases.map(([source, given, instead]) => translate(model, source, given, instead));
const plain = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);
process.stdout.write(JSON.stringify(written, plain));
