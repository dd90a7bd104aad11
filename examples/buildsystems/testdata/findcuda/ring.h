#pragma once
#define RADIUS 7
void ring(float *p, int n);
void ripple(float *p, int n);
