// @ts-check
// MiniLM in a worker: it hears its bytes, then questions.

import { answerQuestions } from "../../shared/answering.js";
import { modelOf } from "./model.js";
import { reader } from "./reader.js";

answerQuestions((data) => reader(modelOf(data)));
