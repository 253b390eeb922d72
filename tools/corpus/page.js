"use strict";
// Tables sort by the buttons in their headings, which the keyboard reaches like any others.
for (const table of document.querySelectorAll("table.rows")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, place) => heading.querySelector("button").addEventListener("click", () => {
        const up = heading.getAttribute("aria-sort") !== "ascending";
        const numeric = heading.classList.contains("n");
        headings.forEach(other => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = row => row.cells[place].dataset.v ?? row.cells[place].textContent;
        const rows = [...table.tBodies[0].rows].map(row => [value(row), row]);
        rows.sort(([a], [b]) => {
            if (a === "" || b === "") return (a === "") - (b === "");
            const order = numeric ? a - b : a.localeCompare(b, "en", {numeric: true});
            return up ? order : -order;
        });
        table.tBodies[0].append(...rows.map(([, row]) => row));
    }));
}

// The filters over the big table.
const filters = document.querySelector("#filters");
if (filters) {
    const rows = [...document.querySelector("#all").tBodies[0].rows];
    const count = document.querySelector("#count");
    const apply = () => {
        const text = filters.elements.text.value.trim().toLowerCase();
        const wanted = ["ptx", "options", "outcome"].map(name => [name, filters.elements[name].value]);
        let shown = 0;
        for (const row of rows) {
            row.hidden = !(row.cells[0].textContent + " " + row.dataset.papers).toLowerCase().includes(text) ||
                wanted.some(([name, value]) => value && row.dataset[name] !== value);
            shown += !row.hidden;
        }
        count.textContent = `${shown} of ${rows.length} rows`;
    };
    filters.addEventListener("input", apply);
    filters.addEventListener("submit", event => event.preventDefault());
    apply();
}

// One architecture's plots at a time.
const chooser = document.querySelector("#architecture");
if (chooser) {
    const show = () => {
        for (const plot of document.querySelectorAll("[data-form]")) plot.hidden = plot.dataset.form !== chooser.value;
    };
    chooser.addEventListener("input", show);
    show();
}

// Input beside output, laid out when it is opened. The data says how to make the output's lines of the input's:
// a number n: n equal lines; [n, lines]: n lines of the input give way to these.
const texts = JSON.parse(document.querySelector("#texts").textContent);
const cell = (row, style, text) => {
    const made = row.insertCell();
    if (style) made.className = style;
    made.textContent = text;
};
const layOut = (place, input, steps) => {
    const table = document.createElement("table");
    table.className = "diff";
    const columns = table.appendChild(document.createElement("colgroup"));
    for (const style of ["at", "", "at", ""]) columns.appendChild(document.createElement("col")).className = style;
    const head = table.createTHead().insertRow();
    for (const title of ["input", "output"]) {
        const heading = document.createElement("th");
        heading.colSpan = 2;
        heading.textContent = title;
        head.append(heading);
    }
    const body = table.createTBody();
    let left = 0, right = 0;
    for (const step of steps) {
        const [taken, lines] = typeof step === "number" ? [step, null] : step;
        for (let i = 0; i < Math.max(taken, lines ? lines.length : 0); i++) {
            const row = body.insertRow();
            const has = i < taken, gets = lines ? i < lines.length : true;
            cell(row, "at", has ? left + 1 : "");
            cell(row, has ? (lines ? "minus" : "") : "empty", has ? input[left] : "");
            cell(row, "at", gets ? right + 1 : "");
            cell(row, gets ? (lines ? "plus" : "") : "empty", gets ? (lines ? lines[i] : input[left]) : "");
            left += has;
            right += gets;
        }
    }
    place.replaceChildren(table);
};
for (const details of document.querySelectorAll("details[data-kernel]")) {
    details.addEventListener("toggle", () => {
        const place = details.querySelector(".side");
        if (!details.open || place.firstChild) return;
        const kernel = texts[details.dataset.kernel];
        layOut(place, kernel.input, kernel.outputs[details.dataset.options]);
    });
}
