import { render } from "preact";
import { InspectorPage } from "./inspector-page.js";

render(<InspectorPage />, document.getElementById("page")!);
