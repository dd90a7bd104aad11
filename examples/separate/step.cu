// One step of the classical Runge-Kutta method in the field; the field itself is in another translation unit.
#include "field.h"

__device__ Body advance(Body b, float dt) {
    float2 f1 = field(b.x, b.y);
    float h = 0.5f * dt;
    float vx2 = b.vx + h * f1.x, vy2 = b.vy + h * f1.y;
    float2 f2 = field(b.x + h * b.vx, b.y + h * b.vy);
    float vx3 = b.vx + h * f2.x, vy3 = b.vy + h * f2.y;
    float2 f3 = field(b.x + h * vx2, b.y + h * vy2);
    float vx4 = b.vx + dt * f3.x, vy4 = b.vy + dt * f3.y;
    float2 f4 = field(b.x + dt * vx3, b.y + dt * vy3);
    float sixth = dt / 6;
    return {b.x + sixth * (b.vx + 2 * vx2 + 2 * vx3 + vx4), b.y + sixth * (b.vy + 2 * vy2 + 2 * vy3 + vy4),
            b.vx + sixth * (f1.x + 2 * f2.x + 2 * f3.x + f4.x), b.vy + sixth * (f1.y + 2 * f2.y + 2 * f3.y + f4.y)};
}
