// @ts-check
// The language model in a worker: it hears its file and the means of its heads, then questions.

import { answerQuestions } from "../../shared/answering.js";
import { answersOf } from "./answers.js";

answerQuestions(({ file, means }) => answersOf(file, means));
