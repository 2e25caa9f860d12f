import { render } from "preact";
import { App } from "./app.js";
import "./style/fonts.css";
import "./style/base.css";
import "./style/approvals.css";
import "./style/pages.css";

const place = document.getElementById("app");
if (place !== null) render(<App />, place);
