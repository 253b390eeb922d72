"""Bar charts as inline SVG. Colours are classes, so that the page's light and dark themes set them."""
import html
import math

HEIGHT, TOP, BOTTOM, LEFT, RIGHT = 300, 14, 104, 64, 12
BAR, GAP = 11, 16


def ticks_for(most):
    """Round steps from 0 to at least 'most', some five of them."""
    if most <= 0:
        return [0, 1]
    power = 10 ** math.floor(math.log10(most / 4))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor * 5 >= most)
    count = math.ceil(most / step - 1e-9)
    return [step * i for i in range(count + 1)]


def number_text(value):
    return f"{value:.0f}" if abs(value - round(value)) < 1e-9 else f"{value:.2f}"


def bars(label, unit, groups, series, mark=None):
    """groups: [(name, [value or None, ...])]; series: [(name, class)]; mark: a value to draw a line at.

    'label' is read out, 'unit' stands at the axis. A value of None is drawn as a small cross: there is no such form."""
    most = max([value for _, values in groups for value in values if value is not None] + [mark or 0, 0])
    ticks = ticks_for(most)
    inner = HEIGHT - TOP - BOTTOM
    width = LEFT + RIGHT + len(groups) * (BAR * len(series) + GAP)
    base = TOP + inner

    def y(value):
        return base - inner * value / ticks[-1]

    out = [f'<svg role="img" aria-label="{html.escape(label)}" viewBox="0 0 {width} {HEIGHT}" width="{width}" '
           f'height="{HEIGHT}">']
    out.append(f'<text class="unit" x="12" y="{TOP + inner / 2:.0f}" transform="rotate(-90 12 {TOP + inner / 2:.0f})" '
               f'text-anchor="middle">{html.escape(unit)}</text>')
    for tick in ticks:
        out.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{number_text(tick)}</text>')
    for place, (name, values) in enumerate(groups):
        left = LEFT + GAP / 2 + place * (BAR * len(series) + GAP)
        for i, ((series_name, style), value) in enumerate(zip(series, values)):
            x = left + i * BAR
            if value is None:
                out.append(f'<text class="none" x="{x + BAR / 2:.1f}" y="{base - 3}" text-anchor="middle">×'
                           f'<title>{html.escape(f"{name}, {series_name}: none")}</title></text>')
                continue
            tip = html.escape(f"{name}, {series_name}: {number_text(value)} {unit}")
            out.append(f'<rect class="{style}" x="{x:.1f}" y="{y(value):.1f}" width="{BAR - 1}" '
                       f'height="{max(base - y(value), 0.5):.1f}"><title>{tip}</title></rect>')
        middle = left + BAR * len(series) / 2
        out.append(f'<text x="{middle:.1f}" y="{base + 14}" text-anchor="end" '
                   f'transform="rotate(-40 {middle:.1f} {base + 14})">{html.escape(name)}</text>')
    if mark is not None:
        out.append(f'<line class="mark" x1="{LEFT}" x2="{width - RIGHT}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>')
    out.append("</svg>")
    legend = "".join(f'<span><i class="key {style}"></i>{html.escape(name)}</span>' for name, style in series)
    return f'<div class="legend">{legend}</div><div class="wide" tabindex="0">{"".join(out)}</div>'
