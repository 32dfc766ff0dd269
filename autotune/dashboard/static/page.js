// What every page does by itself; each behaviour lives in the file that is named after it.
import { copyOnClick } from "./copy.js";
import { followLog, searchLog } from "./log.js";
import { followPage } from "./live.js";
import { drawWhenSeen } from "./pictures.js";
import { askOnClick, sendForms } from "./steer.js";
import { keepCounting, showLocalTimes } from "./times.js";

showLocalTimes(document);
keepCounting();
copyOnClick();
askOnClick();
sendForms();
drawWhenSeen();
searchLog();
followLog();
if (document.body.dataset.liveFrom) followPage(document.body.dataset.liveFrom);
