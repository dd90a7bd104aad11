#pragma once
void scale(float *x, int n, float by);
void shift(float *x, int n, float by);
