// Every page of the shop sends what an earlier one was asked: a click that leads here is not lost.
import { resume } from "./devote.js";

await resume();
