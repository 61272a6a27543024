/** Replaces uPlot, which needs the canvas of a browser. */
export default class {
  static made = 0;
  static destroyed = 0;
  width = 0;
  cursor = {};
  ctx = { canvas: document.createElement("canvas") };
  constructor() {
    (this.constructor as unknown as { made: number }).made += 1;
  }
  setSize() {}
  setScale() {}
  redraw() {}
  destroy() {
    (this.constructor as unknown as { destroyed: number }).destroyed += 1;
  }
}
